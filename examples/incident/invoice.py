from pydantic import BaseModel, Field, model_validator


class Invoice(BaseModel):
    number: str = Field(pattern=r"^R-[0-9]+$")
    lines: list[float]
    total: float

    @model_validator(mode="after")
    def adds_up(self) -> "Invoice":
        if abs(sum(self.lines) - self.total) > 0.005:
            raise ValueError("the lines do not add up to the total")
        return self
